{{ define "helper" }}
{{ .Values.name.first }}{{ end }}
