-- Give up the drain lease. Gives 1 when somebody knocked meanwhile: there may be work that this worker did not see.
-- KEYS  lease, knock, flow, bell
-- ARGV  token, now ms (0: the server's clock)
local knocked = redis.call('GETDEL', KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end

local now = tonumber(ARGV[2])
if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + time[2] / 1000
end
local state = redis.call('HMGET', KEYS[3], 'held_until', 'circuit', 'probe_at')
local until_ms = math.max(tonumber(state[1]) or 0, state[2] and tonumber(state[3]) or 0)
if until_ms > now then
    -- While nothing may be sent the bell counts as rung, so that a busy publisher wakes nobody for nothing.
    redis.call('SET', KEYS[4], 1, 'PX', math.ceil(until_ms - now))
end
return knocked and 1 or 0
