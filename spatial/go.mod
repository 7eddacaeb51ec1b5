module latlab.example/spatial

go 1.26.0
