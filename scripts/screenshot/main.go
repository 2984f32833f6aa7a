// Screenshot makes a PNG of the upper part of a page that `batch report` wrote, to where the charts of
// distributions begin, with chromium: screenshot FILE.html FILE.png. scripts/picture calls it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"batch.example/batch/internal/chromium"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: screenshot FILE.html FILE.png")
		os.Exit(2)
	}
	if err := shoot(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

func shoot(file, out string) (err error) {
	const width, height, scale = 1100, 900, 2 // in CSS pixels, and pixels of the picture for one of them
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	tab, stop, err := chromium.Open(context.Background())
	if err != nil {
		return err
	}
	defer func() {
		if failed := stop(); err == nil {
			err = failed
		}
	}()
	if err := chromium.Look(tab, width, height, scale, "screen", "light"); err != nil {
		return err
	}
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+path)); err != nil {
		return err
	}
	end, err := chromedp.Run(tab, chromedp.Evaluate[float64](`document.getElementById("distributions").getBoundingClientRect().top`))
	if err != nil {
		return err
	}
	picture, err := chromium.Picture(tab, width, 0, end)
	if err != nil {
		return err
	}
	return os.WriteFile(out, picture, 0o644) //nolint:gosec // it is public
}
