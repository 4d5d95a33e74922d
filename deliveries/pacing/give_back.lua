-- Take back what was granted and no request used: tokens, or the probe, which the next one may then have at once.
-- KEYS  flow
-- ARGV  ms that the unused requests cost, 1 when the probe is among them, now ms (0: the server's clock)
local flow, cost, is_probe, now = KEYS[1], tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + time[2] / 1000
end

local state = redis.call('HMGET', flow, 'full_at', 'circuit')
local full_at, circuit = tonumber(state[1]), state[2]
-- A server that forgot meanwhile has nothing to be set right.
if cost > 0 and full_at then
    redis.call('HSET', flow, 'full_at', string.format('%.6f', full_at - cost))
end
if is_probe and circuit == 'half-open' then
    redis.call('HSET', flow, 'circuit', 'open', 'probe_at', now)
end
return 1
