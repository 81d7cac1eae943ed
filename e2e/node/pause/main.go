// Command pause keeps the namespaces of a Pod open until it is terminated, and reaps what
// the Pod's processes leave where they share their process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGCHLD)
	for {
		select {
		case <-stop:
			return
		case <-gone:
			var status syscall.WaitStatus
			for {
				if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}
