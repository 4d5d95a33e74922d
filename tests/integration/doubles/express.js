// Stands in for Express: as much of it as the documented receiver uses, over node:http. Installing the real one takes
// longer than all the tests of this folder.
const http = require("node:http");

function express() {
  const routes = new Map();
  return {
    post: (path, ...steps) => routes.set(path, steps),
    listen: (port) => http.createServer((req, res) => take(routes.get(req.url), req, res)).listen(port, "127.0.0.1"),
  };
}

function take(steps, req, res) {
  res.status = (code) => Object.assign(res, { statusCode: code });
  res.send = (text) => res.end(text);
  const step = (number) => steps[number](req, res, () => step(number + 1));
  step(0);
}

// Like the real one, it leaves no Buffer where there was no body.
express.raw = () => (req, res, next) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    req.body = chunks.length ? Buffer.concat(chunks) : {};
    next();
  });
};

module.exports = express;
