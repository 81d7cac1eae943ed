package doctor

import (
	"cmp"

	"github.com/ladder-cmp/ladder/internal/finding"
)

type severities []finding.Severity

// parts are the checks of a rule, each with the severity and the remedy of its findings that set
// no other.
type parts []struct {
	severity finding.Severity
	remedy   string
	find     func(*installation) []finding.Finding
}

func (p parts) find(i *installation) (all []finding.Finding) {
	for _, part := range p {
		for _, f := range part.find(i) {
			f.Severity, f.Remedy = cmp.Or(f.Severity, part.severity), cmp.Or(f.Remedy, part.remedy)
			all = append(all, f)
		}
	}
	return all
}

// The sources of the facts: Argo CD's documentation and source code, of v3.5.7
// unless noted, and Ladder's documentation.
const (
	docsCMP      = "Argo CD, docs/operator-manual/config-management-plugins.md"
	docsSyncs    = "Argo CD, docs/operator-manual/applicationset/Progressive-Syncs.md"
	docsHealth   = "Argo CD, docs/operator-manual/health.md"
	installMD    = "docs/install.md"
	operationsMD = "docs/operations.md"
)

var rules = []Rule{
	{"no-repo-server", severities{finding.Error, finding.Note},
		"no repo-server in the input; a note if the input contains Applications, but no manifests of Argo CD itself",
		"pass all manifests of Argo CD, values for the argo-cd chart, or --context to read them from a cluster", installMD,
		(*installation).checkRepoServer},
	{"no-sidecar", severities{finding.Error}, "a repo-server without a container that serves the plugin",
		"run cmp install --print values -f FILE or cmp install --print kustomize -f FILE, which print your file with the sidecar added", docsCMP,
		(*installation).checkSidecar},
	{"sidecar-command", severities{finding.Error},
		"a container that should serve the plugin and runs something else, or has wrong flags or variables",
		"give it the arguments [serve, ...] without a command, or Argo CD's /var/run/argocd/argocd-cmp-server as command",
		installMD, (*installation).checkSidecarCommand},
	{"image", severities{finding.Error, finding.Warning, finding.Note},
		"a sidecar without an image, with a placeholder (`registry.example.com`), or with a mutable tag (`latest`, `main`, or none); " +
			"repo-servers, or Pods of one, with different sidecars; a note on an image without a digest",
		"", "docs/operations.md, LadderVersionsDiffer", parts{
			{finding.Error, "name the image with a version or digest", (*installation).checkSidecarImage},
			{finding.Warning, "use one image, and run kubectl rollout status on the repo-server", (*installation).checkSidecarVersions},
		}.find},
	{"volumes", severities{finding.Error, finding.Warning},
		"a sidecar that does not share the volume `plugins` with the repo-server at the path of the sockets; Argo CD's own plugin server " +
			"without a separate /tmp to write to, the volume that contains its program, or a `plugin.yaml` that makes it this plugin",
		"", "Argo CD, common/common.go (GetPluginSockFilePath), docs/operator-manual/upgrading/2.3-2.4.md, cmpserver/plugin/config.go; " +
			docsCMP, parts{
			{finding.Error, "mount the volume plugins at /home/argocd/cmp-server/plugins in both", (*installation).checkPluginsVolume},
			{finding.Error, "mount a separate emptyDir at /tmp", (*installation).checkStockVolumes},
			{finding.Error, "mount plugin.yaml of this repository there, from a ConfigMap with subPath", (*installation).checkPluginYAML},
		}.find},
	{"user", severities{finding.Error},
		"a sidecar that runs as another user than the repo-server and, with cmp serve, has no group in common " +
			"(runAsGroup, or fsGroup or supplementalGroups of the Pod)",
		"set runAsUser and runAsGroup to 999", docsCMP +
			", \"Double-check these items\"; Kubernetes, pkg/kubelet/kuberuntime/security_context.go", (*installation).checkUser},
	{"rights", severities{finding.Warning},
		"a sidecar with more privileges than it needs: a writable root file system, privileged mode, capabilities",
		"copy the securityContext of deploy/argocd-values.yaml", installMD, (*installation).checkPrivileges},
	{"two-plugins", severities{finding.Error, finding.Warning},
		"two containers that serve a plugin of the same name; a warning on two plugins that both match Applications without a plugin name",
		"", operationsMD + "; Argo CD, util/app/discovery/discovery.go", (*installation).checkTwoPlugins},
	{"version", severities{finding.Error, finding.Note},
		"an Argo CD version before 2.6; a note on one before 2.14, with which the plugin is not tested",
		"upgrade Argo CD", "Argo CD, docs/operator-manual/upgrading/2.5-2.6.md", (*installation).checkVersion},
	{"timeout", severities{finding.Warning, finding.Note},
		"a rendering that may take more than half of the time that the controller waits; a Pod whose grace period is shorter than " +
			"its running requests need; a note on an API server that waits for manifests for less time than the controller, " +
			"and on `ARGOCD_EXEC_TIMEOUT` on the sidecar",
		"", "docs/operations.md, Limits; Traces and Restarts; " + docsCMP + ", cmpserver/plugin/plugin.go (runCommand), util/exec/exec.go", parts{
			{finding.Warning, "raise controller.repo.server.timeout.seconds in argocd-cmd-params-cm, or lower --render-timeout",
				(*installation).checkTimeout},
			{finding.Note, "set server.repo.server.timeout.seconds to that of the controller", (*installation).checkServerTimeout},
			{finding.Note, "remove it; --render-timeout limits cmp serve, and the controller's timeout limits both",
				(*installation).checkExecTimeout},
			{finding.Warning, "raise terminationGracePeriodSeconds of the repo-server, or lower --drain-timeout", (*installation).checkGracePeriod},
		}.find},
	{"unread-setting", severities{finding.Warning},
		"an unknown key of `argocd-cmd-params-cm`, or of `configs.params` in values; an unknown value of the argo-cd chart that is " +
			"similar to a known one; `configManagementPlugins` in `argocd-cm`",
		"", "Argo CD, docs/operator-manual/upgrading/2.7-2.8.md, manifests/base; for values, manifests of v2.14.21 and v3.5.7; " +
			"argo-helm, charts/argo-cd/values.yaml", parts{
			{finding.Warning, "correct the key; docs/operator-manual/argocd-cmd-params-cm.yaml of Argo CD lists all keys",
				(*installation).checkUnknownSettings},
			{finding.Warning, "correct the key", (*installation).checkUnknownValues},
			{finding.Warning, "remove the key", (*installation).checkOldPlugins},
		}.find},
	{"duplicate-key", severities{finding.Error}, "a duplicate key in values, or in a workload or ConfigMap of Argo CD",
		"put both under one key", "YAML 1.2, 3.2.1.3 (keys are unique); sigs.k8s.io/yaml", (*installation).checkDuplicateKeys},
	{"ca-certificates", severities{finding.Warning},
		"a sidecar that may fetch from a host whose CA only Argo CD is configured to trust, " +
			"or that reads certificates from a path where no volume is mounted",
		"mount the volume tls-certs and pass the file of the host with --remote-ca, or give the host a ca.crt with --remote-credentials",
		"docs/sources.md", (*installation).checkCACertificates},
	{"memory", severities{finding.Error, finding.Warning, finding.Note},
		"a missing memory limit, or one below the memory that the flags allow; a number of concurrent renderings that nobody chose: " +
			"neither --parallel nor a CPU limit is set, or --parallel is 0, a note on Argo CD's own plugin server",
		"", "docs/operations.md, Memory; Argo CD, reposerver/repository/repository.go (runRepoOperation)", parts{
			{finding.Error, "raise the limit, or lower the flags; docs/operations.md explains how to calculate it", (*installation).checkMemory},
			{finding.Warning, "set --parallel", (*installation).checkParallel},
		}.find},
	{"grpc-size", severities{finding.Warning}, "a limit for messages below 100 MiB",
		"raise it to 100 or more, or remove it", "Argo CD, cmpserver/apiclient/clientset.go", (*installation).checkMessageSize},
	{"tar-exclusions", severities{finding.Error, finding.Warning, finding.Note},
		"exclusion patterns that are invalid, match files of a component, or do not exclude the git history",
		"set reposerver.plugin.tar.exclusions: .git/*", "Argo CD, util/io/files/tar.go; " + docsCMP, (*installation).checkTarExclusions},
	{"generate-paths", severities{finding.Note},
		"Applications with the annotation `argocd.argoproj.io/manifest-generate-paths` whose repo-server still sends the whole repository",
		"set reposerver.plugin.use.manifest.generate.paths: \"true\" in argocd-cmd-params-cm", docsCMP, (*installation).checkGeneratePaths},
	{"application-health", severities{finding.Error, finding.Warning, finding.Note},
		"a missing or wrong health check for Applications, and what it would change for each app of apps; " +
			"an error if Applications contain Applications, otherwise a note",
		"merge the key for Applications that cmp health --all prints into argocd-cm, for example with a kustomize patch; " +
			"cmp install adds it, too",
		docsHealth, (*installation).checkApplicationHealth},
	{"progressive-syncs", severities{finding.Error}, "an ApplicationSet with steps while progressive syncs are disabled",
		"set applicationsetcontroller.enable.progressive.syncs: \"true\" in argocd-cmd-params-cm",
		docsSyncs, (*installation).checkProgressiveSyncs},
	{"probe", severities{finding.Error, finding.Warning}, "a probe of the wrong port or path, or a sidecar without probes",
		"copy the probes of deploy/argocd-values.yaml", operationsMD, (*installation).checkProbes},
	{"metrics", severities{finding.Error, finding.Warning, finding.Note},
		"metrics of the sidecar on a port that another container uses, on an unreachable address, or disabled; " +
			"a NetworkPolicy that blocks their port, a warning if a PodMonitor scrapes it",
		"", operationsMD + "; Argo CD, manifests/base/repo-server/argocd-repo-server-network-policy.yaml", parts{
			{finding.Error, "set --operations-address=:9402 and name the port in ports", (*installation).checkPort},
			{finding.Note, "add deploy/monitoring/networkpolicy.yaml", (*installation).checkNetworkPolicy},
		}.find},
	{"ladder-yaml", severities{finding.Error, finding.Warning},
		"a `ladder.yaml` for all components that is missing in the container, invalid, or never updated",
		"mount its ConfigMap as a directory, as docs/install.md shows", installMD, (*installation).checkLadderYAML},
	{"sidecar-state", severities{finding.Error, finding.Warning}, "in a cluster: a sidecar that does not run, is not ready, or was OOM-killed",
		"run kubectl logs and kubectl describe on the Pod, and see the alerts of docs/operations.md", operationsMD,
		(*installation).checkSidecarState},
}
