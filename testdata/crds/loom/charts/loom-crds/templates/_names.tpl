{{- define "loom.threads" -}}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: threads.loom.example.com
spec:
  group: loom.example.com
  scope: Namespaced
  names:
    kind: Thread
    plural: threads
    singular: thread
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
{{- end -}}
