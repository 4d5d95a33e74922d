-- Take in what became of some requests, and open or close the circuit.
-- KEYS  flow, bell
-- ARGV  successes, failures, failures since the last success, hold ms (0: none), why held,
--       streak that opens, samples, ratio that opens, window ms, first open ms, longest open ms, chance 0..1, now ms (0)
-- Gives the circuit's state after it and before: closed, open, half-open; times it opened, ms until its probe
local flow = KEYS[1]
local good, bad, trailing = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local hold_ms, hold_reason = tonumber(ARGV[4]), ARGV[5]
local streak_opens, samples, ratio, window_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local first_ms, longest_ms, chance, now = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local KEEP_MS = 90000000

if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + time[2] / 1000
end

local function open(times)
    local wait = math.min(longest_ms, first_ms * 2 ^ (times - 1))
    -- Up to a quarter longer, so that endpoints that failed together are not probed together.
    redis.call('HSET', flow, 'circuit', 'open', 'opened', times, 'probe_at', now + wait * (1 + chance / 4),
        'streak', 0, 'good', 0, 'bad', 0)
    redis.call('HDEL', flow, 'ramp_at', 'ramp_reason')
    return 'open'
end

local function ramp(from, reason)
    redis.call('HSET', flow, 'ramp_at', from, 'ramp_reason', reason)
end

local state = redis.call('HMGET', flow, 'circuit', 'opened', 'streak', 'since', 'good', 'bad', 'held_until')
local before = state[1] or 'closed'
local circuit, opened, streak = before, tonumber(state[2]) or 0, tonumber(state[3]) or 0
local since, all_good, all_bad = tonumber(state[4]) or now, tonumber(state[5]) or 0, tonumber(state[6]) or 0

if circuit == 'half-open' then
    if good > 0 then
        redis.call('HDEL', flow, 'circuit', 'probe_at', 'streak', 'since', 'good', 'bad')
        redis.call('DEL', KEYS[2])
        ramp(now, 'recovered')
        circuit = 'closed'
    elseif bad > 0 then
        circuit = open(opened + 1)
    end
elseif circuit == 'closed' then
    if now - since > window_ms then
        since, all_good, all_bad = now, 0, 0
        -- A quiet window behind it: the next opening is a first one again.
        if bad == 0 then opened = 0 end
    end
    all_good, all_bad = all_good + good, all_bad + bad
    streak = good > 0 and trailing or streak + bad
    redis.call('HSET', flow, 'streak', streak, 'since', since, 'good', all_good, 'bad', all_bad, 'opened', opened)
    local enough = all_good + all_bad >= samples and all_bad >= ratio * (all_good + all_bad)
    if bad > 0 and (streak >= streak_opens or enough) then
        circuit = open(opened + 1)
    end
end
-- Results that come in while it is open were on their way before: they say nothing new.

if hold_ms > 0 then
    local held_until = now + hold_ms
    if held_until > (tonumber(state[7]) or 0) then
        redis.call('HSET', flow, 'held_until', held_until, 'hold_reason', hold_reason)
        if circuit == 'closed' then ramp(held_until, hold_reason) end
    end
end
redis.call('PEXPIRE', flow, KEEP_MS)
local then_state = redis.call('HMGET', flow, 'opened', 'probe_at')
return {circuit, before, tonumber(then_state[1]) or 0, math.max(0, math.ceil((tonumber(then_state[2]) or now) - now))}
