output "report_uri" {
  description = "Where each run leaves its report: a directory named by the time below it. make fetch copies them to reports/runs/."
  value       = "s3://${aws_s3_bucket.lab.id}/runs/"
}

output "name" {
  description = "The lab's name, which everything has as its tag Lab."
  value       = var.name
}

output "region" {
  description = "The region that the lab is in, for make run and make fetch."
  value       = var.region
}

output "driver_id" {
  description = "Instance that make run starts comparisons on."
  value       = aws_instance.driver.id
}

output "hosts" {
  description = "The hosts: instance, address, zone and role."
  value = { for name, host in local.hosts : name => {
    instance = aws_instance.host[name].id
    address  = aws_instance.host[name].private_ip
    zone     = local.zone_names[host.zone]
    role     = host.role
  } }
}

output "topology" {
  description = "The topology file that the controller works with."
  value       = local.topology_file
}

output "session" {
  description = "How a person gets a shell on the driver; any other instance likewise."
  value       = "aws ssm start-session --region ${var.region} --target ${aws_instance.driver.id}"
}

output "deadline" {
  description = "When the instances end themselves (UTC). What still stands a quarter of an hour later is ended from outside."
  value       = terraform_data.deadline.output
}

output "unavailable" {
  description = "Lock servers that the topology has and this lab has not, and why."
  value       = local.without
}

output "fis_templates" {
  description = "The experiment templates of the Fault Injection Service, for make destroy."
  value       = join(" ", local.fis_templates[*].id)
}
