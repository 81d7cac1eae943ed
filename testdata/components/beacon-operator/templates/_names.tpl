{{- define "beacon.labels" -}}
app.kubernetes.io/name: beacon-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
