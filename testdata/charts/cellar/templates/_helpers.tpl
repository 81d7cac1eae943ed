{{- define "cellar.secret" }}{{ .Values.auth.existingSecret | default (printf "%s-auth" .Release.Name) }}{{ end }}
