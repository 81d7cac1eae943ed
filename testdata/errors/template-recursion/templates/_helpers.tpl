{{- define "recursion.first" -}}
{{ include "recursion.second" . }}
{{- end -}}

{{- define "recursion.second" -}}
name: web
{{ include "recursion.first" . }}
{{- end -}}
