-- How Argo CD shows the kinds of connect-operator.io. One text for all of them. Argo CD gives it the object as obj, and no
-- library for strings.

local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local ready = conditions.Ready
if ready == nil or status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "The operator has not seen this generation yet"}
end

local message = ready.reason .. ": " .. ready.message
if ready.status == "True" then
  return {status = "Healthy", message = message}
end
if conditions.Reconciling ~= nil and conditions.Reconciling.status == "True" then
  return {status = "Progressing", message = message}
end
if ready.reason == "Suspended" then
  return {status = "Suspended", message = message}
end
-- A person has to act (Stalled), or a check that is repeated does not pass now.
return {status = "Degraded", message = message}
