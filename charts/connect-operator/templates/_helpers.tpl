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
{{- merge $labels (default (dict) .Values.commonLabels) (default (dict) (.Values.global).commonLabels) | toYaml }}
{{- end }}

{{/* The same with labels of one object only: a list of the context and these. */}}
{{- define "connect-operator.labelsWith" -}}
{{- merge (include "connect-operator.labels" (index . 0) | fromYaml) (default (dict) (index . 1)) | toYaml }}
{{- end }}

{{/* The labels that people add, as an option of the operator, which has them on what it creates. */}}
{{- define "connect-operator.commonLabels" -}}
{{- $labels := list }}
{{- range $name, $value := merge (dict) (default (dict) .Values.commonLabels) (default (dict) (.Values.global).commonLabels) }}
{{- $labels = append $labels (printf "%s=%s" $name $value) }}
{{- end }}
{{- join "," $labels }}
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
{{- $repository := .Values.image.repository }}
{{- with (.Values.global).imageRegistry }}
{{- $parts := splitList "/" $repository }}
{{- /* As container engines have it: the first part is a registry if it has a point or a port, or is localhost. */}}
{{- if and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts)) }}
{{- $repository = rest $parts | join "/" }}
{{- end }}
{{- $repository = printf "%s/%s" . $repository }}
{{- end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $tag) }}
{{- end }}
{{- end }}

{{/* Pull secrets of this chart and of all charts, each once. */}}
{{- define "connect-operator.imagePullSecrets" -}}
{{- $secrets := list }}
{{- range concat (default (list) (.Values.global).imagePullSecrets) (default (list) .Values.imagePullSecrets) }}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) }}
{{- end }}
{{- with uniq $secrets }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* A security context, on OpenShift without the ids that it assigns: a list of the context and of this one. */}}
{{- define "connect-operator.securityContext" -}}
{{- $root := index . 0 }}
{{- $context := default (dict) (index . 1) }}
{{- $adapt := default "auto" ((($root.Values.global).compatibility).openshift).adaptSecurityContext }}
{{- if or (eq $adapt "force") (and (eq $adapt "auto") ($root.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" }}
{{- end }}
{{- with $context }}
{{- toYaml . }}
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
  resources: [actionchecks/status, connectordeployments/status, connectorstageds/status, connectprojects/status]
  verbs: [patch]
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
{{- $annotations := .Values.crds.keep | ternary (dict "helm.sh/resource-policy" "keep") (dict) }}
{{- with merge $annotations (default (dict) .Values.crds.annotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
labels:
  {{- include "connect-operator.labels" . | nindent 2 }}
{{- end }}

{{/*
Metadata of an object for the monitoring, which may be in a namespace where releases of several namespaces meet: a list
of the context, the end of its name, and its values.
*/}}
{{- define "connect-operator.monitoringMetadata" -}}
{{- $root := index . 0 }}
{{- $values := index . 2 }}
{{- $namespace := default $root.Release.Namespace $values.namespace }}
{{- $elsewhere := ne $namespace $root.Release.Namespace | ternary (printf "-%s" $root.Release.Namespace) "" -}}
name: {{ include "connect-operator.fullname" $root }}{{ $elsewhere }}{{ index . 1 }}
namespace: {{ $namespace }}
labels:
  {{- include "connect-operator.labelsWith" (list $root (default $values.labels $values.additionalLabels)) | nindent 2 }}
{{- with $values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The endpoint of a ServiceMonitor or PodMonitor, from its values. */}}
{{- define "connect-operator.metricsEndpoint" -}}
port: metrics
path: /metrics
interval: {{ .interval }}
scrapeTimeout: {{ .scrapeTimeout }}
honorLabels: {{ .honorLabels }}
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Whether the network policy lets somebody read the metrics. Where the Prometheus of a monitor runs is not known to the chart. */}}
{{- define "connect-operator.isScraped" -}}
{{- $metrics := .Values.metrics }}
{{- if and $metrics.enabled (or .Values.networkPolicy.metricsFrom $metrics.serviceMonitor.enabled $metrics.podMonitor.enabled) }}yes{{ end }}
{{- end }}

{{/* An alert as its values adjust it: a list of the context and of the alert. */}}
{{- define "connect-operator.alert" -}}
{{- $values := (index . 0).Values.metrics.prometheusRule }}
{{- $alert := index . 1 }}
{{- $adjusted := default (dict) (index (default (dict) $values.alerts) $alert.alert) }}
{{- if hasKey $adjusted "threshold" }}
{{- $limit := regexFind "> [0-9]+" $alert.expr }}
{{- if not $limit }}
{{- $why := contains "customresource_kind" $alert.expr | ternary ", because it fires for each resource (metrics.kubeStateMetrics)" "" }}
{{- fail (printf "metrics.prometheusRule.alerts.%s: this alert has no threshold%s" $alert.alert $why) }}
{{- end }}
{{- $parts := splitn $limit 2 $alert.expr }}
{{- $_ := set $alert "expr" (printf "%s> %d%s" $parts._0 (int64 $adjusted.threshold) $parts._1) }}
{{- end }}
{{- $_ := set $alert "for" (default $alert.for $adjusted.for) }}
{{- $labels := merge (dict) (default (dict) $adjusted.labels) (default (dict) $values.additionalRuleLabels) $alert.labels }}
{{- $_ := set $alert "labels" $labels }}
{{- $_ := set $alert "annotations" (merge (dict) (default (dict) $adjusted.annotations) $alert.annotations) }}
{{- toYaml $alert }}
{{- end }}
