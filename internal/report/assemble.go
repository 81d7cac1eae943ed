package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
	"text/template"

	"github.com/ladder-cmp/ladder/internal/draw"
)

//go:embed page/page.html
var skeleton string

//go:embed page/page.css
var style string

// stylesheet is the CSS of the page, with the icons of kinds. Icons are pseudo-elements
// in CSS, because thousands of SVG elements would make the page slow.
var stylesheet = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(style)
	for _, i := range draw.Icons() {
		fmt.Fprintf(&b, "[data-icon=%q]::before { clip-path: path(evenodd, %q); }\n", i.Name, i.Path)
	}
	return b.String()
})

//go:embed page/*.js
var modules embed.FS

// program is the concatenation of all modules in one scope, because a page opened from
// disk cannot import modules.
var program = sync.OnceValue(func() string {
	files, err := modules.ReadDir("page")
	if err != nil {
		panic(err) // they are embedded
	}
	var b strings.Builder
	for _, f := range files {
		text, err := modules.ReadFile(path.Join("page", f.Name()))
		if err != nil {
			panic(err) // listed before
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "import ") {
				b.WriteString(strings.TrimPrefix(line, "export "))
			}
		}
	}
	return b.String() + "start();\n"
})

var document = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(skeleton)) })

// html returns the page. Its Content-Security-Policy only allows the embedded
// script and styles, by their hashes.
func (p page) html() (string, error) {
	data, err := json.Marshal(p) // escapes "<", ">" and "&"
	if err != nil {
		return "", err
	}
	plain, err := p.plain()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = document().Execute(&b, map[string]string{
		"Title":          template.HTMLEscapeString(p.Title),
		"Stylesheet":     stylesheet(),
		"StylesheetHash": hash(stylesheet()),
		"Program":        program(),
		"ProgramHash":    hash(program()),
		"Data":           string(data),
		"Plain":          plain,
	})
	return b.String(), err
}

// hash returns the hash of a text in the format of a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
