// Package ext has what Traefik's other editions add to its dynamic configuration. No
// proxy has the module, since Traefik replaces it by a folder that its own module leaves
// out. Traefik Proxy adds nothing.
package ext

// HTTP is added to the HTTP configuration.
type HTTP struct{}

// Router is added to a router.
type Router struct{}
