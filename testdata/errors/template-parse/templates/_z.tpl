{{ define "z" }}
