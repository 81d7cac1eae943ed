{{- define "pantry.labels" -}}
{{ include "pantry-labels.owner" . }}
app: {{ .Chart.Name }}
{{- end -}}
