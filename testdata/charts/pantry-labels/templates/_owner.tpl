{{- define "pantry-labels.owner" -}}
owner: {{ .Values.global.owner }}
{{- end -}}
