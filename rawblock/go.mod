module latlab.example/rawblock

go 1.26.0

require latlab.example/common v0.0.0

replace latlab.example/common => ../common
