package draw_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ladder-cmp/ladder/internal/corpus"
	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/sample"
)

// TestArrowsGoAround reads pictures back: no two boxes overlap, all are in the picture, and
// no arrow passes behind a box, of the components that ship with the project and of what
// real charts render to.
func TestArrowsGoAround(t *testing.T) {
	for _, name := range []string{"beacon-operator", "shop"} {
		t.Run(name, func(t *testing.T) {
			manifests, err := os.ReadFile(filepath.Join("../../testdata/components", name+".want.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			checkPicture(t, draw.Ladder(sample.Plan(t, sample.Objects(t, string(manifests))), draw.SVG, draw.Options{}))
		})
	}
	t.Run("rollout", func(t *testing.T) { checkPicture(t, rollout("pilot").Draw(draw.SVG)) })
	corpus.Some(t, func(t *testing.T, text string) {
		checkPicture(t, draw.Ladder(sample.Plan(t, sample.Objects(t, text)), draw.SVG, draw.Options{}))
	})
}

type point struct{ x, y float64 }

type svgBox struct{ X, Y, Width, Height float64 }

// contains leaves a pixel at each side for rounding.
func (b svgBox) contains(p point) bool {
	return p.x > b.X+1 && p.x < b.X+b.Width-1 && p.y > b.Y+1 && p.y < b.Y+b.Height-1
}

func checkPicture(t *testing.T, text string) {
	t.Helper()
	checkLegend(t, text)
	page, nodes, paths := readPicture(t, text)
	if len(nodes) == 0 {
		t.Fatal("no boxes")
	}
	for i, n := range nodes {
		if n.X < 0 || n.Y < 0 || n.X+n.Width > page.Width || n.Y+n.Height > page.Height {
			t.Errorf("box %d is outside of the picture: %+v", i, n)
		}
		for _, other := range nodes[:i] {
			if n.X < other.X+other.Width && other.X < n.X+n.Width && n.Y < other.Y+other.Height && other.Y < n.Y+n.Height {
				t.Errorf("boxes overlap: %+v and %+v", n, other)
			}
		}
	}
	for _, d := range paths {
		for _, p := range trace(t, d) {
			for _, n := range nodes {
				if n.contains(p) {
					t.Errorf("arrow %q passes behind the box %+v", d, n)
					return
				}
			}
		}
	}
}

// checkLegend reports lines below the picture that end outside of it, at six pixels for each
// character.
func checkLegend(t *testing.T, text string) {
	t.Helper()
	var svg struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Lines  []struct {
			X    float64 `xml:"x,attr"`
			Y    float64 `xml:"y,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(text), &svg); err != nil {
		t.Fatal(err)
	}
	if len(svg.Lines) == 0 {
		t.Error("no legend")
	}
	for _, l := range svg.Lines {
		if l.X+6*float64(utf8.RuneCountInString(l.Text)) > svg.Width || l.Y > svg.Height {
			t.Errorf("the line %q ends outside of a picture of %v by %v", l.Text, svg.Width, svg.Height)
		}
	}
}

// readPicture finds the page, the boxes of nodes and the paths of arrows.
func readPicture(t *testing.T, text string) (page svgBox, nodes []svgBox, paths []string) {
	t.Helper()
	var svg struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Paths  []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
		Groups []struct {
			Class string `xml:"class,attr"`
			Rect  struct {
				X      float64 `xml:"x,attr"`
				Y      float64 `xml:"y,attr"`
				Width  float64 `xml:"width,attr"`
				Height float64 `xml:"height,attr"`
			} `xml:"rect"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(text), &svg); err != nil {
		t.Fatal(err)
	}
	for _, g := range svg.Groups {
		if strings.HasPrefix(g.Class, "node") {
			nodes = append(nodes, svgBox(g.Rect))
		}
	}
	for _, p := range svg.Paths {
		paths = append(paths, p.D)
	}
	return svgBox{Width: svg.Width, Height: svg.Height}, nodes, paths
}

// trace follows a path of M, C and V, in steps of a fiftieth of a curve.
func trace(t *testing.T, d string) []point {
	t.Helper()
	const steps = 50
	var at point
	var points []point
	in := strings.NewReader(d)
	for {
		var command string
		if _, err := fmt.Fscanf(in, "%1s", &command); err != nil {
			return points
		}
		read := func(into ...*float64) {
			for _, f := range into {
				if _, err := fmt.Fscan(in, f); err != nil {
					t.Fatalf("path %q: %v", d, err)
				}
			}
		}
		var a, b, end point
		switch command {
		case "M":
			read(&at.x, &at.y)
			continue
		case "V":
			end.x = at.x
			read(&end.y)
			a, b = at, end
		case "C":
			read(&a.x, &a.y, &b.x, &b.y, &end.x, &end.y)
		default:
			t.Fatalf("path %q: unknown command %q", d, command)
		}
		for k := range steps + 1 {
			u := float64(k) / steps
			v := 1 - u
			points = append(points, point{
				v*v*v*at.x + 3*v*v*u*a.x + 3*v*u*u*b.x + u*u*u*end.x,
				v*v*v*at.y + 3*v*v*u*a.y + 3*v*u*u*b.y + u*u*u*end.y,
			})
		}
		at = end
	}
}
