function(zone) { zone: zone }
