# Rotate a secret, suspend and resume, leave the deployment behind, and take it over again.
connect-operator scaffold demo-connector --name tax --project shop |
  sed 's/API_TOKEN: ""/API_TOKEN: my-first-token/' | kubectl apply -f -
connect-operator wait tax --timeout "$PATIENCE"
key=$(kubectl get cdep tax -o jsonpath='{.status.key}')
version() { kubectl wait cdep/tax --for=jsonpath='{.status.remote.version}'="$1" --timeout "$PATIENCE"; }

kubectl patch secret tax -p '{"stringData": {"API_TOKEN": "my-next-token"}}'
version 2
connect-operator wait tax --timeout "$PATIENCE"

connect-operator suspend tax
kubectl wait cdep/tax --for=condition=Suspended --timeout "$PATIENCE"
kubectl patch secret tax -p '{"stringData": {"API_TOKEN": "my-third-token"}}'
if connect-operator reconcile tax --wait --timeout "$PATIENCE" 2> held; then echo "it was sent"; exit 1; fi
grep 'Suspended' held
test "$(kubectl get cdep tax -o jsonpath='{.status.remote.version}')" = 2
connect-operator resume tax
version 3
connect-operator wait tax --timeout "$PATIENCE"

kubectl patch cdep tax --type=merge -p '{"spec": {"deletionPolicy": "Orphan"}}'
kubectl delete cdep tax
connect-operator deployments get "$key" --project shop | grep 'Deployed'

connect-operator adopt "$key" --project shop | grep 'managementPolicy: .*ObserveOnly'
connect-operator adopt "$key" --project shop --apply --timeout "$PATIENCE" 2> next | grep 'Observed'
grep -- 'the same command with --take-over' next
if connect-operator adopt "$key" --project shop --take-over 2> held; then echo "it has no values"; exit 1; fi
grep 'lacks API_TOKEN' held
name=$(kubectl get cdep -o jsonpath='{.items[0].metadata.name}')
kubectl create secret generic "$name" --from-literal=API_TOKEN=my-third-token
connect-operator adopt "$key" --project shop --take-over --timeout "$PATIENCE" | grep ': Deployed'
test "$(kubectl get cdep "$name" -o jsonpath='{.status.remote.version}')" = 3
