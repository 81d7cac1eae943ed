module github.com/ladder-cmp/ladder/conformance/pipelines

go 1.26.0

require go.yaml.in/yaml/v3 v3.0.5
