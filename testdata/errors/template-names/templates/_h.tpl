{{ define "c.fullname" }}x{{ end }}
