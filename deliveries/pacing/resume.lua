-- Forget what was held against an endpoint and let it come back on a ramp.
-- KEYS  flow, bell
-- ARGV  reason, 1 to close the circuit as well, now ms (0: the server's clock)
-- Gives the state of the circuit that it closed: open, half-open; or nothing
local now = tonumber(ARGV[3])
if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + time[2] / 1000
end
local closed = ''
if ARGV[2] == '1' then
    closed = redis.call('HGET', KEYS[1], 'circuit') or ''
    redis.call('DEL', KEYS[1], KEYS[2])
end
redis.call('HSET', KEYS[1], 'ramp_at', now, 'ramp_reason', ARGV[1])
redis.call('PEXPIRE', KEYS[1], 90000000)
return closed
