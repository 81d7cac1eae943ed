// Command sbom writes the software bill of materials of a Go binary, in CycloneDX's
// JSON, to standard output: the modules that are linked into it, as the linker noted
// them.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: sbom BINARY")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	main := component(&info.Main)
	main.Type = cdx.ComponentTypeApplication
	bom.Metadata = &cdx.Metadata{Component: &main}
	all := []cdx.Component{component(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, m := range info.Deps {
		all = append(all, component(m))
	}
	bom.Components = &all
	return cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	// go.sum's h1 is the SHA-256 of the module's files, in base64.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}
