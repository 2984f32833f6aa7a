// Screenshot makes a PNG of an HTML file, or of a page of a server on this machine, with chromium. The
// browser reaches no other network.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/chromium"
)

// look describes the picture.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	from, to      string
}

func main() {
	var l look
	flag.Int64Var(&l.width, "width", 1280, "in CSS pixels")
	flag.Int64Var(&l.height, "height", 0, "likewise; 0: to the end of the page")
	flag.Float64Var(&l.scale, "scale", 1, "pixels of the picture for one of CSS")
	flag.BoolVar(&l.dark, "dark", false, "in the dark scheme")
	flag.StringVar(&l.from, "from", "", "the `id` of the element that the picture begins with")
	flag.StringVar(&l.to, "to", "", "the `id` of the element that it ends before, in place of -height")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: screenshot [FLAGS] FILE.html|http://127.0.0.1:PORT/... FILE.png")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	picture, err := l.shoot(flag.Arg(0))
	if err == nil {
		picture, err = smaller(picture)
	}
	if err == nil {
		err = os.WriteFile(flag.Arg(1), picture, 0o644) //nolint:gosec // it is public
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

func (l look) shoot(file string) (picture []byte, err error) {
	address := file
	if !strings.HasPrefix(file, "http://127.0.0.1:") {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		address = "file://" + path
	}
	tab, stop, err := chromium.Open(context.Background(), "127.0.0.1")
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := stop(); err == nil {
			err = failed
		}
	}()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	if err := chromium.Look(tab, l.width, max(l.height, 900), l.scale, "screen", scheme); err != nil {
		return nil, err
	}
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		return nil, err
	}
	top, err := topOf(tab, l.from, "0")
	if err != nil {
		return nil, err
	}
	end := top + float64(l.height)
	if l.height == 0 {
		if end, err = topOf(tab, l.to, "document.documentElement.scrollHeight"); err != nil {
			return nil, err
		}
	}
	return chromium.Picture(tab, float64(l.width), top, end-top)
}

// topOf is how far down the page an element begins; without one, the value of an expression.
func topOf(tab context.Context, id, otherwise string) (float64, error) {
	return chromedp.Run(tab, chromedp.Evaluate[float64](fmt.Sprintf(`document.getElementById(%q)?.getBoundingClientRect().top ?? %s`, id, otherwise)))
}
