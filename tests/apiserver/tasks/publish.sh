# Publish a connector from the tags of a local Git repository.
commit() {
  git -C "$REPOSITORIES/kit" add connect.yaml
  git -C "$REPOSITORIES/kit" -c user.name=dev -c user.email=dev@example.com -c commit.gpgsign=false commit --quiet --message "$1"
  git -C "$REPOSITORIES/kit" tag "$1"
}
mkdir "$REPOSITORIES/kit"
git -C "$REPOSITORIES/kit" init --quiet
cat > "$REPOSITORIES/kit/connect.yaml" <<'YAML'
deployAs:
  - name: service
    applicationType: service
    endpoint: /service
YAML
commit v1
cat > kit.yaml <<'YAML'
apiVersion: connect-operator.io/v1alpha1
kind: ConnectorStaged
metadata: {name: kit}
spec:
  projectRef: {name: shop}
  key: kit
  name: Kit
  creator: {email: dev@example.com}
  repository: {url: "https://git.example.com/dev/kit.git", tag: v1}
  privateProjects: [{region: europe-west1.gcp, projectKey: demo}]
  integrationTypes: [tax]
  publishPolicy: Private
YAML
connect-operator plan -f kit.yaml | grep '^+ ConnectorStaged'
kubectl apply -f kit.yaml
connect-operator wait staged/kit --timeout "$PATIENCE" | grep '^staged/kit: Published'

echo '    configuration: {standardConfiguration: [{key: LEVEL, description: How much is logged, required: true}]}' \
  >> "$REPOSITORIES/kit/connect.yaml"
commit v2
sed 's/tag: v1/tag: v2/' kit.yaml | kubectl apply -f -
kubectl wait cst/kit --for=jsonpath='{.status.publishedTag}'=v2 --timeout "$PATIENCE"
connect-operator tree staged/kit | grep 'ConnectorStaged/kit'
connect-operator scaffold kit --project shop | grep 'LEVEL: "" # required'
connect-operator staged export kit --project shop | grep 'suspend: true'
