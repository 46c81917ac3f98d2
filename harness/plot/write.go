package plot

import (
	"xidlab/harness/atomicfile"
	"xidlab/harness/result"
)

// Write draws the charts of a run into files BASE-NAME.svg and BASE-NAME.png,
// each replaced as a whole, and returns their paths. On an error those written
// so far stand.
func Write(r *result.Run, base string) (paths []string, err error) {
	for _, c := range Charts(r) {
		for _, format := range formats {
			data, err := c.Encode(format)
			if err != nil {
				return paths, err
			}
			path := base + "-" + c.Name + "." + format
			if err := atomicfile.Write(path, data); err != nil {
				return paths, err
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}
