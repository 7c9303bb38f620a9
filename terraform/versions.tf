terraform {
  required_version = ">= 1.11.0, < 2.0.0" # write-only arguments, which keep the token out of the state, came with 1.11

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = merge(var.tags, { Lab = var.name })
  }
}

data "aws_caller_identity" "current" {}
