# No way in from the internet and none out: the instances reach the AWS services that
# they need through endpoints.
resource "aws_vpc" "lab" {
  cidr_block           = local.cidr
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

# The driver and the endpoints have a subnet of their own, so that a zone can be
# cut off from the others without cutting off the driver.
locals {
  cidr    = "10.75.0.0/16" # any will do: nothing else is connected to it
  subnets = merge({ control = local.zones[0] }, { for zone in local.zones : zone => zone })

  # Systems Manager has the token and lets people in; the driver calls the Fault
  # Injection Service.
  services = concat(["ssm", "ssmmessages"], var.fis_enabled ? ["fis"] : [])
}

resource "aws_subnet" "lab" {
  for_each = local.subnets

  vpc_id            = aws_vpc.lab.id
  cidr_block        = cidrsubnet(local.cidr, 8, each.key == "control" ? 0 : index(local.zones, each.key) + 1)
  availability_zone = local.zone_names[each.value]

  tags = merge({ Name = "${var.name}-${each.key}" }, each.key == "control" ? {} : { Zone = each.key }) # experiments find a zone by it
}

resource "aws_route_table" "lab" {
  vpc_id = aws_vpc.lab.id
}

resource "aws_route_table_association" "lab" {
  for_each = aws_subnet.lab

  subnet_id      = each.value.id
  route_table_id = aws_route_table.lab.id
}

# S3 has the lab's bucket and the packages of Amazon Linux, and costs nothing here.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.lab.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.lab.id]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Principal = "*", Action = ["s3:GetObject", "s3:PutObject", "s3:ListBucket"], Resource = [aws_s3_bucket.lab.arn, "${aws_s3_bucket.lab.arn}/*"] },
      { Effect = "Allow", Principal = "*", Action = ["s3:GetObject"], Resource = ["arn:aws:s3:::al2023-repos-${var.region}-de612dc2/*"] },
    ]
  })
}

resource "aws_vpc_endpoint" "api" {
  for_each = toset(local.services)

  vpc_id              = aws_vpc.lab.id
  service_name        = "com.amazonaws.${var.region}.${each.key}"
  vpc_endpoint_type   = "Interface"
  subnet_ids          = [aws_subnet.lab["control"].id]
  security_group_ids  = [aws_security_group.lab["endpoints"].id]
  private_dns_enabled = true

  depends_on = [aws_scheduler_schedule.stop] # they cost by the hour: not before there is an end to it
}
