local hs = {status = "Progressing", message = "waiting for the first status"}
if obj.status == nil then
  return hs
end
local function get(from, keys)
  for _, key in ipairs(keys) do
    if type(from) ~= "table" then
      return nil
    end
    from = from[key]
  end
  return from
end
local function old(generation)
  generation = tonumber(generation)
  local now = tonumber(obj.metadata.generation)
  return generation ~= nil and now ~= nil and generation < now
end
if observed ~= nil and old(get(obj, observed)) then
  hs.message = "waiting for a status of the latest change"
  return hs
end
local places = {obj.status}
if under ~= nil then
  places = get(obj, under) or {}
end
-- Whether a sign shows in a place, and what stands there.
local function shows(sign, place)
  if sign.at ~= nil then
    local value = tostring(get(obj, sign.at))
    return sign.is[value] == true, sign.name .. " is " .. value
  end
  for _, c in ipairs(place.conditions or {}) do
    if c.type == sign.condition and not (own_generations and old(c.observedGeneration)) then
      local fits = sign.is[tostring(c.status)] == true and (sign.reason == nil or sign.reason[c.reason] == true)
      return fits, c.message or c.reason or (sign.name .. " is " .. tostring(c.status))
    end
  end
  return false, "waiting for " .. sign.name
end
for _, try in ipairs(tries) do
  for _, sign in ipairs(try.signs) do
    for _, place in ipairs(places) do
      local yes, said = shows(sign, place)
      if yes then
        return {status = try.status, message = said}
      end
    end
  end
end
if #places == 0 then
  return hs
end
for _, sign in ipairs(healthy) do
  for _, place in ipairs(places) do
    local yes, said = shows(sign, place)
    hs.message = said
    if not yes then
      return hs
    end
  end
end
hs.status = "Healthy"
return hs
