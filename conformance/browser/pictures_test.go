package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPictures makes the pictures of the documentation with -update. They are
// not compared, since fonts differ from machine to machine; that they are there
// is checked.
func TestPictures(t *testing.T) {
	night, small := desktop, phone
	night.scheme = "dark"
	operator, fleet := made(t, "testdata/components/beacon-operator"), made(t, "testdata/fleets/bands/components")
	pictures := map[string]struct {
		file, place string
		screen
	}{
		"report-component": {operator, "#object=Beacon.light.example.com+default%2Fharbour", desktop},
		"report-fleet":     {fleet, "#environment=production&object=foundation-vault-core", night},
		"report-timeline":  {fleet, "#environment=production&view=timeline", desktop},
		"report-phone":     {operator, "", small},
	}
	for name, picture := range pictures {
		t.Run(name, func(t *testing.T) {
			takePicture(t, name, func() *tab { return open(t, picture.file, picture.place, picture.screen) })
		})
	}
	t.Run("ui-extension", func(t *testing.T) {
		takePicture(t, "ui-extension", func() *tab {
			return hanging(t, "light", reacts[1]).page(t, screen{width: 900, height: 590, scheme: "light"})
		})
	})
}

// takePicture writes what is in sight of a page with -update.
func takePicture(t *testing.T, name string, open func() *tab) {
	t.Helper()
	file := filepath.Join(root, "docs", "images", name+".png")
	if *update {
		var raw []byte
		open().run(chromedp.CaptureScreenshot(&raw))
		if err := os.WriteFile(file, small256(t, raw), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if info.Size() > 150_000 {
		t.Errorf("it has %d bytes, which is too much for a repository", info.Size())
	}
}

// small256 writes a picture with the 256 colours that it has most of.
func small256(t *testing.T, raw []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	bounds := img.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	palette := color.Palette{}
	for _, c := range most[:min(256, len(most))] {
		palette = append(palette, c)
	}
	number := map[color.RGBA]uint8{}
	for c := range count {
		number[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, number[at(x, y)])
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
