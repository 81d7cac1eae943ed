module github.com/ladder-cmp/ladder

go 1.26.0

require (
	github.com/google/go-cmp v0.6.0
	go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/tools v0.26.0
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect
