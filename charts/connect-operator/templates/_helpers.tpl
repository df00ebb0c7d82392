{{/* Name of the chart in names and labels. */}}
{{- define "connect-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Name of the objects: the release, with the chart unless the release is called after it. 50 characters, so that what is appended fits. */}}
{{- define "connect-operator.fullname" -}}
{{- $name := include "connect-operator.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Name of what stands outside of the release's namespace, where releases of several namespaces meet. */}}
{{- define "connect-operator.outsideName" -}}
{{- printf "%s:%s" (include "connect-operator.fullname" .) .Release.Namespace }}
{{- end }}

{{- define "connect-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "connect-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of the objects; those that people add come last, so that they cannot replace what the chart selects by. */}}
{{- define "connect-operator.labels" -}}
{{- $labels := include "connect-operator.selectorLabels" . | fromYaml }}
{{- $_ := set $labels "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .Release.Service }}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $labels .Values.commonLabels | toYaml }}
{{- end }}

{{/* The same with labels of one object only: a list of the context and these. */}}
{{- define "connect-operator.labelsWith" -}}
{{- merge (include "connect-operator.labels" (index . 0) | fromYaml) (index . 1) | toYaml }}
{{- end }}

{{- define "connect-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "connect-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "connect-operator.image" -}}
{{- $tag := .Values.image.tag }}
{{- if not (kindIs "string" $tag) }}
{{- $tag = int64 $tag | toString }}
{{- end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion $tag) }}
{{- end }}
{{- end }}

{{- define "connect-operator.leaseName" -}}
{{- default (include "connect-operator.fullname" .) .Values.leaderElection.leaseName }}
{{- end }}

{{/* The subject of every binding. */}}
{{- define "connect-operator.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "connect-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Rights in what is watched: in a ClusterRole, or in a Role of each watched namespace. */}}
{{- define "connect-operator.watchedRules" -}}
- apiGroups: [connect-operator.io]
  resources: [connectordeployments, connectorstageds, connectprojects]
  verbs: [get, list, watch, patch]
- apiGroups: [connect-operator.io]
  resources: [actionchecks]
  verbs: [get, list, watch]
- apiGroups: [connect-operator.io]
  resources: [actionchecks/status, connectordeployments/status, connectors/status, connectorstageds/status, connectprojects/status]
  verbs: [patch]
- apiGroups: [connect-operator.io]
  resources: [connectors]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
{{- if .Values.outputs.enabled }}
# To write the ConfigMap of spec.outputs, and to own it where the cluster checks owners.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create, patch]
- apiGroups: [connect-operator.io]
  resources: [connectordeployments/finalizers]
  verbs: [update]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}

{{/* Metadata of a CustomResourceDefinition beside its name. */}}
{{- define "connect-operator.crdMetadata" -}}
{{- if .Values.crds.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
labels:
  {{- include "connect-operator.labels" . | nindent 2 }}
{{- end }}
