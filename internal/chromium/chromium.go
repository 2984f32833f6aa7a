// Package chromium opens HTML files in a headless chromium, for tests and pictures of what batch
// writes. The program batch does not use it.
package chromium

import (
	"context"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Path is the browser's program, and "" where there is none.
func Path() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Open starts a browser with an empty tab, which the returned context controls. Its profile is
// temporary. It cannot reach any network: a host name has no address, and a proxy that does
// not exist is between it and all addresses, except for the addresses in reach, such as 127.0.0.1.
// Stop ends all its processes before it returns.
func Open(parent context.Context, reach ...string) (tab context.Context, stop func() error, err error) {
	rules := "MAP * ~NOTFOUND"
	for _, address := range reach {
		rules += ", EXCLUDE " + address
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(Path()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", rules), chromedp.ProxyServer("127.0.0.1:9"))
	browser, cancel := chromedp.NewExecAllocator(parent, options...)
	tab, closeTab := chromedp.NewContext(browser)
	stop = func() error {
		const patience = 10 * time.Second
		ctx, done := context.WithTimeout(tab, patience)
		defer done()
		err := chromedp.Cancel(ctx)
		closeTab()
		cancel()
		return err
	}
	if err := chromedp.Do(tab, chromedp.Sleep(0)); err != nil {
		_ = stop()
		return nil, nil, err
	}
	return tab, stop, nil
}

// Look sets what the tab is shown on: the width and height in CSS pixels, how many pixels of a
// picture one of them is, the medium ("screen" or "print") and the color scheme ("light" or
// "dark").
func Look(tab context.Context, width, height int64, scale float64, medium, scheme string) error {
	_, err := chromedp.Call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: scale})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return err
}

// Picture is a PNG of a part of the page, as wide as it is, from a height on. The height may
// be larger than the tab's.
func Picture(tab context.Context, width, top, height float64) ([]byte, error) {
	beyond := true
	shot, err := chromedp.Call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{Y: top, Width: width, Height: height, Scale: 1}, CaptureBeyondViewport: &beyond,
	})
	return shot.Data, err
}
