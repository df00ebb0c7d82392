# A deployment of one's own: from the registry to a live deployment.
connect-operator connectors search --text demo --project shop | grep '^demo-connector '
connect-operator scaffold demo-connector --name tax --project shop > scaffold.yaml
sed 's/API_TOKEN: ""/API_TOKEN: my-first-token/' scaffold.yaml > tax.yaml
connect-operator plan -f tax.yaml | grep '^+ ConnectorDeployment .*/tax: is created'
kubectl apply -f tax.yaml
connect-operator wait tax --timeout "$PATIENCE" | grep '^deployment/tax: Deployed'
connect-operator status tax | grep 'Running: *demo-connector version 1'
connect-operator doctor --operator-namespace "$NAMESPACE" | grep '^ok       ConnectorDeployment: 1 of 1 are Ready'
