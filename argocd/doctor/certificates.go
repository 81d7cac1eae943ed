package doctor

import (
	"maps"
	"net/url"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// certificatesMap is the name of the ConfigMap with the certificates that the
// repo-server trusts, by host.
const certificatesMap = "argocd-tls-certs-cm"

func (i *installation) checkCACertificates() (all []finding.Finding) {
	trusted := i.values.at("configs", "tls", "certificates").entries()
	for key, m := range i.maps {
		if key.name == certificatesMap {
			maps.Copy(trusted, m.at("data").entries())
		}
	}
	i.forEachSidecar(func(_ *workload, s *sidecar) {
		hasOwnCA := s.flags.Credentials
		for _, from := range []struct{ name, file string }{{"--remote-ca", s.flags.CA},
			{"SSL_CERT_FILE", s.env["SSL_CERT_FILE"].Text()}, {"SSL_CERT_DIR", s.env["SSL_CERT_DIR"].Text()}} {
			if from.file == "" {
				continue
			}
			hasOwnCA = true
			if _, mounted := mountAt(s.node, from.file); !mounted {
				all = append(all, withRemedy(s.fault("%s is %s, and nothing is mounted there", from.name, from.file),
					"mount a ConfigMap with the certificates, or drop %s", from.name))
			}
		}
		if hasOwnCA || s.stock {
			return
		}
		for _, host := range slices.Sorted(maps.Keys(trusted)) {
			if slices.ContainsFunc(s.flags.Remote, func(remote string) bool {
				u, err := url.Parse(remote)
				return err == nil && u.Hostname() == host
			}) {
				all = append(all,
					trusted[host].fault("Argo CD trusts these certificates for %s, but the plugin, which may fetch from there, does not", host))
			}
		}
	})
	return all
}
