package main

import (
	"encoding/base64"
	"io"
	"os"
	"strings"
)

// Asks the documented function about the body on standard input, whose headers are environment variables. Without
// net/http, which takes half a minute to compile.
func main() {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	body, _ := io.ReadAll(os.Stdin)
	if !isGenuine(key, os.Getenv, body) {
		os.Exit(41)
	}
}
