package serve

// hugeObjects are objects with many fields, of kinds that Ladder reads.
var hugeObjects = []string{`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generateName: g, labels: {app: web}, annotations: {argocd.argoproj.io/sync-wave: "1", argocd.argoproj.io/sync-options: Replace=true, ladder-cmp.github.io/after: Service/web, helm.sh/hook: pre-install, helm.sh/hook-weight: "1", helm.sh/hook-delete-policy: before-hook-creation}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {a: b}}
    spec:
      serviceAccountName: web
      priorityClassName: high
      runtimeClassName: r
      schedulerName: s
      nodeSelector: {a: b}
      imagePullSecrets: [{name: pull}]
      initContainers: [{name: wait, image: busybox, command: [sh, -c, "until nc -z db 5432; do sleep 1; done"]}]
      containers:
      - name: web
        image: web:1
        args: [--database=postgres://db.shop.svc:5432/a]
        env: [{name: DB, value: "http://db.shop.svc"}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        envFrom: [{configMapRef: {name: c}}]
        ports: [{name: http, containerPort: 80, protocol: TCP}]
        readinessProbe: {httpGet: {path: /, port: http}}
        volumeMounts: [{name: v, mountPath: /v, subPath: x}]
        resources: {limits: {cpu: 1, memory: 1Gi}}
      volumes: [{name: v, configMap: {name: c, items: [{key: k, path: p}]}}, {name: p, persistentVolumeClaim: {claimName: data}}, {name: s, secret: {secretName: s}}]
`, `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}}
spec: {backoffLimit: 1, ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, command: [kubectl, apply, -f, "https://example.com/a.yaml"]}]}}}
`, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {cert-manager.io/cluster-issuer: ca}}
spec: {ingressClassName: nginx, tls: [{hosts: [a.example.com], secretName: tls}], rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]}
`, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: A, plural: as, singular: a, shortNames: [x]}, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: web, namespace: shop, path: /}}, conversionReviewVersions: [v1]}}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}]}
`, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: child, namespace: argocd}
spec: {project: p, source: {repoURL: "https://git.example.com/a.git", path: app, targetRevision: main, chart: c, helm: {releaseName: r, valueFiles: [v.yaml], parameters: [{name: a, value: b}]}, plugin: {name: ladder, parameters: [{name: a, string: b}]}}, destination: {server: "https://k", name: n, namespace: shop}}
`, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks: [{name: a.example.com, failurePolicy: Fail, clientConfig: {service: {name: web, namespace: shop, path: /}, caBundle: YQ==}, rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}], namespaceSelector: {matchLabels: {a: b}}, sideEffects: None, admissionReviewVersions: [v1]}]
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
`, `
apiVersion: v1
kind: Secret
metadata: {name: s}
type: Opaque
stringData: {k: v}
data: {d: YQ==}
`, `
apiVersion: example.com/v1
kind: Unknown
metadata: {name: u, ownerReferences: [{apiVersion: v1, kind: A, name: o, uid: i}]}
spec: {secretRef: {name: s}, url: "http://web.shop.svc", classRef: {kind: K, name: n}}
`}

const hugeComponent = `
name: web
namespace: shop
project: p
domain: d
tier: t
componentType: x
dependencyPhase: y
rolloutPhase: "110"
crds: split
crdsPhase: "100"
environments: {prod: {values: [prod.yaml], namespace: n, set: {a: b}}}
environment: prod
chart: {path: ., valueFiles: [prod.yaml], releaseName: r}
syncOptions: [Prune=true]
server: https://k
description: text
owner: me
labels: {a: b}
annotations: {a: b}
ignoreDifferences: [{group: g, kind: K, name: n, jsonPointers: [/a]}]
info: [{name: a, value: b}]
managedNamespaceMetadata: {labels: {a: b}, annotations: {c: d}}
set: {a: b}
set-string: {a: b}
set-file: {a: prod.yaml}
set-json: {a: "1"}
values: [prod.yaml]
renderer: plain
kube-version: "1.30"
api-versions: [a/v1]
expects: [Secret/a]
waves: rungs
hooks: order
`

const hugeLadder = `
rungs: [{name: configs, wave: 31, why: w}]
kinds: [{group: example.com, kind: A, rung: configs, why: w, source: s, scope: cluster, health: [Degraded], references: [{at: spec.a, to: [{kind: Secret}], meaning: exists, why: w}]}]
conventions: [{key: a, meaning: exists, to: [{kind: Secret}], why: w}]
smokes: {words: [a], labels: [b]}
migrations: [m]
platform: openshift
packages: [{package: p, brings: [g.example.com], why: w}]
fleet: {name: f, project: p, repoURL: "https://git.example.com/a.git", profile: bands, environments: [{name: prod, server: s, values: [v.yaml]}], allow: {servers: [s], projects: [p]}, accepted: [{rule: r, component: c, why: w}]}
`
