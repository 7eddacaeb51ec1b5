//go:build race

package model

const raceDetector = true // the fit takes minutes then
