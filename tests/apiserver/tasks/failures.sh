# Three failures: each is found with `wait` or `plan`, and explained by `status`.
fails() { if "$@" > failed 2>&1; then echo "it succeeds: $*"; exit 1; fi; }

# A build that fails.
connect-operator scaffold demo-failing --name broken --project shop | kubectl apply -f -
fails connect-operator wait broken --timeout "$PATIENCE"
grep 'DeploymentFailed' failed
connect-operator status broken | grep 'connect-operator redeploy deployment/broken'

# A misspelt variable: plan shows it before anything is applied.
connect-operator scaffold demo-connector --name tax --project shop > tax.yaml
{ cat tax.yaml; echo '  configurations: [{applicationName: service, standardConfiguration: [{key: LOG_LEVLE, value: info}]}]'; } > misspelt.yaml
fails connect-operator plan -f misspelt.yaml
grep 'no key LOG_LEVLE (it has .*LOG_LEVEL' failed
kubectl apply -f misspelt.yaml
fails connect-operator wait tax --timeout "$PATIENCE"
grep 'ConfigurationInvalid' failed

# A Secret that does not exist: the operator waits for it.
connect-operator scaffold demo-connector --name oms --project shop | sed '1,/^---$/d' > oms.yaml
kubectl apply -f oms.yaml
kubectl wait cdep/oms --for=jsonpath='{.status.conditions[?(@.type=="Ready")].reason}'=SecretMissing --timeout "$PATIENCE"
connect-operator status oms | grep 'Secret oms does not exist'
fails connect-operator doctor --operator-namespace "$NAMESPACE"
grep 'oms): SecretMissing' failed
