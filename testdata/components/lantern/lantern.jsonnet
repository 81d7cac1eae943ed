local labels = (import 'lib/labels.libsonnet')(std.extVar('zone'));
function(name, replicas) [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: name, labels: labels },
    spec: {
      replicas: replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } + labels },
        spec: { containers: [{ name: name, image: 'lantern:1.0', envFrom: [{ configMapRef: { name: 'lantern-settings' } }] }] },
      },
    },
  },
]
