package argocd

import "testing"

func TestRaced(t *testing.T) {
	webhook := `Beacon/north: Internal error occurred: failed calling webhook "beacons.example.com": failed to call webhook: ` +
		`Post "https://beacon.shop.svc:443/validate": dial tcp 10.0.0.7:443: connect: connection refused`
	kind := `Beacon/south: resource mapping not found for name: "south": no matches for kind "Beacon" in version "beacon.example.com/v1"`
	denied := `Beacon/north: admission webhook "beacons.example.com" denied the request: no message`
	for _, c := range []struct {
		errors []string
		want   bool
	}{
		{nil, false},
		{[]string{webhook}, true},
		{[]string{webhook, kind}, true},
		{[]string{webhook, denied}, false},
		{[]string{"Beacon/north: connection refused"}, false},
	} {
		if got := (Outcome{Errors: c.errors}).Raced(); got != c.want {
			t.Errorf("Raced of %q: %v; want %v", c.errors, got, c.want)
		}
	}
}
