module github.com/ladder-cmp/ladder/conformance/suite

go 1.24.0
