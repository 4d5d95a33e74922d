-- Give up the drain lease. Gives 1 when somebody knocked meanwhile: there may be work that this worker did not see.
-- KEYS  lease, knock
-- ARGV  token
local knocked = redis.call('GETDEL', KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return knocked and 1 or 0
