package grading

import "context"

// DownloadWith replaces the download of files, whose servers are never on this machine.
func (s *Settings) DownloadWith(ask func(ctx context.Context, address string) ([]byte, error)) {
	s.downloading = ask
}
