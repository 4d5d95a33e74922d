-- May this endpoint be sent to now, how much, and if not, when? Takes or renews the drain lease on the way.
-- KEYS  lease, knock, flow
-- ARGV  token, lease ms, wanted, limit a second (0: none), burst s, ramp ms, ramp's full rate without a limit,
--       probe ms, now ms (0: the server's clock)
-- Gives {granted, ms until more, why, ms that one request costs}
local lease, knock, flow = KEYS[1], KEYS[2], KEYS[3]
local token, lease_ms, wanted = ARGV[1], ARGV[2], tonumber(ARGV[3])
local limit, burst_s = tonumber(ARGV[4]), tonumber(ARGV[5])
local ramp_ms, ramp_full, probe_ms, now = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local KEEP_MS = 90000000

if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + time[2] / 1000
end

local holder = redis.call('GET', lease)
if holder and holder ~= token then
    redis.call('SET', knock, 1, 'PX', lease_ms)
    return {0, 0, 'busy', '0'}
end
redis.call('SET', lease, token, 'PX', lease_ms)

local state = redis.call('HMGET', flow, 'held_until', 'circuit', 'probe_at', 'ramp_at', 'full_at')
local held_until, circuit, probe_at = tonumber(state[1]), state[2], tonumber(state[3])
local ramp_at, full_at = tonumber(state[4]), tonumber(state[5]) or 0

if held_until and held_until > now then
    return {0, math.ceil(held_until - now), 'held', '0'}
end
if circuit then
    if probe_at > now then
        return {0, math.ceil(probe_at - now), circuit, '0'}
    end
    -- One probe goes through. Should its worker die, the next one may go when its time is over.
    redis.call('HSET', flow, 'circuit', 'half-open', 'probe_at', now + probe_ms)
    return {1, probe_ms, 'probe', '0'}
end

local rate, why = limit, 'limit'
if ramp_at then
    local full = limit > 0 and limit or ramp_full
    if now >= ramp_at + ramp_ms then
        redis.call('HDEL', flow, 'ramp_at', 'ramp_reason')
    else
        local start = math.min(full, math.max(1, full / 64))
        rate, why = start * (full / start) ^ (math.max(0, now - ramp_at) / ramp_ms), 'ramp'
    end
end
if rate == 0 then
    return {wanted, 0, 'free', '0'}
end

-- The generic cell rate algorithm (ITU-T I.371), n cells at once: `full_at` is when the bucket would be full again.
local interval = 1000 / rate
local burst = math.max(1, math.ceil(rate * burst_s))
-- Nobody owes more than a bucket, whatever a slower limit or a clock that went back left behind.
local owed = math.min(math.max(full_at, now), now + burst * interval)
-- Doubles hold today's milliseconds to a quarter of a microsecond: a token that is this close to whole is whole.
local HAIR_MS = 0.002
local granted = math.max(0, math.min(wanted, math.floor((now - owed + HAIR_MS) / interval + burst)))
if granted > 0 or owed < full_at then
    full_at = owed + granted * interval
    redis.call('HSET', flow, 'full_at', string.format('%.6f', full_at))
    redis.call('PEXPIRE', flow, KEEP_MS)
end
if granted == wanted then
    return {granted, 0, why, tostring(interval)}
end
local wait = math.ceil(math.max(full_at, now) + interval - burst * interval - HAIR_MS - now)
return {granted, math.max(1, wait), why, tostring(interval)}
