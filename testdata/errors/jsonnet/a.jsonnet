{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
+ { data: { zone: std.extVar('zone') } }
