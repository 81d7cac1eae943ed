{{- define "shop.selector" -}}
app.kubernetes.io/name: shop
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "shop.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}
